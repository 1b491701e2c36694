import{b as e}from"./chunk-MYN2RQWK.js";var s=e((n,o)=>{o.exports=process.getBuiltinModule("node:async_hooks")});export default s();
