import{a}from"./chunk-U34FEJNJ.js";import"./chunk-MYN2RQWK.js";export default a();
