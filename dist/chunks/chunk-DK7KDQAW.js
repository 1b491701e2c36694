import{a as t}from"./chunk-6DHFEWGX.js";var o=t((p,e)=>{e.exports=process.getBuiltinModule("node:http")});export{o as a};
