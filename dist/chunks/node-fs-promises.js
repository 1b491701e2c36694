import{b as e}from"./runtime.js";var t=e((i,o)=>{o.exports=process.getBuiltinModule("node:path")});var p=e((r,s)=>{s.exports=process.getBuiltinModule("node:fs/promises")});export{t as a,p as b};
