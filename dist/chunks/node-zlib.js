import{b as o}from"./runtime.js";var i=o((l,e)=>{e.exports=process.getBuiltinModule("node:zlib")});export{i as a};
