import{b as o}from"./runtime.js";var s=o((c,e)=>{e.exports=process.getBuiltinModule("node:child_process")});export{s as a};
