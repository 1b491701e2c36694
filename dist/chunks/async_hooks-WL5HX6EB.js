import{a as e}from"./chunk-6DHFEWGX.js";var s=e((n,o)=>{o.exports=process.getBuiltinModule("node:async_hooks")});export default s();
