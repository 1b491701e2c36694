import{a as o}from"./chunk-6DHFEWGX.js";var s=o((c,e)=>{e.exports=process.getBuiltinModule("node:child_process")});export{s as a};
