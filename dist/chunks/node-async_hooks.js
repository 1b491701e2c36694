import{b as e}from"./runtime.js";var s=e((n,o)=>{o.exports=process.getBuiltinModule("node:async_hooks")});export default s();
