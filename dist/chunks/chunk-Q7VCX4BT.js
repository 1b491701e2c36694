import{b as o}from"./chunk-MYN2RQWK.js";var t=o((p,e)=>{e.exports=process.getBuiltinModule("node:crypto")});export{t as a};
