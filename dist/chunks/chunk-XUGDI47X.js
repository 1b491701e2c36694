import{a as o}from"./chunk-6DHFEWGX.js";var t=o((i,e)=>{e.exports=process.getBuiltinModule("node:util")});export{t as a};
