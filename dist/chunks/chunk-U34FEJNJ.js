import{b as t}from"./chunk-MYN2RQWK.js";var o=t((p,e)=>{e.exports=process.getBuiltinModule("node:http")});export{o as a};
