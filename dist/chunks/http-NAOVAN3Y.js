import{a}from"./chunk-DK7KDQAW.js";import"./chunk-6DHFEWGX.js";export default a();
