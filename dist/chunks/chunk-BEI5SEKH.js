import{b as o}from"./chunk-MYN2RQWK.js";var t=o((i,e)=>{e.exports=process.getBuiltinModule("node:util")});export{t as a};
