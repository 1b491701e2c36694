import{b as t}from"./chunk-MYN2RQWK.js";var o=t((s,e)=>{e.exports=process.getBuiltinModule("node:https")});export{o as a};
