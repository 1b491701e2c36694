import{a}from"./node-http.js";import"./runtime.js";export default a();
