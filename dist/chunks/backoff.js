function t(n,{firstMs:r,maxMs:e=1/0}){return Math.min(r*2**(n-1),e)}function o(n,r,e=Math.random()){return e*t(n,r)}export{t as a,o as b};
