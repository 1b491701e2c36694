import{b as s}from"./runtime.js";var o=s((i,e)=>{e.exports=process.getBuiltinModule("node:fs/promises")});export{o as a};
