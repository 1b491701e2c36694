import{b as o}from"./runtime.js";var s=o((t,e)=>{e.exports=process.getBuiltinModule("node:stream")});export{s as a};
