import{b as o}from"./chunk-MYN2RQWK.js";var s=o((t,e)=>{e.exports=process.getBuiltinModule("node:events")});export{s as a};
