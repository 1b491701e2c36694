import{b as o}from"./runtime.js";var t=o((i,e)=>{e.exports=process.getBuiltinModule("node:util")});export{t as a};
