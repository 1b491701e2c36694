import{b as e}from"./runtime.js";var s=e((p,o)=>{o.exports=process.getBuiltinModule("node:crypto")});var r=e((d,t)=>{t.exports=process.getBuiltinModule("node:stream")});export{s as a,r as b};
