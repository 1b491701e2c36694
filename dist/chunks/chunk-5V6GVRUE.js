import{b as s}from"./chunk-MYN2RQWK.js";var o=s((r,e)=>{e.exports=process.getBuiltinModule("node:stream/consumers")});export{o as a};
