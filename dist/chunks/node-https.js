import{b as t}from"./runtime.js";var o=t((s,e)=>{e.exports=process.getBuiltinModule("node:https")});export{o as a};
