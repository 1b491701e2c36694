import{b as t}from"./runtime.js";var o=t((p,e)=>{e.exports=process.getBuiltinModule("node:http")});export{o as a};
