import{a as h}from"./chunk-DOW4IR57.js";import{a as u,b as o,c}from"./chunk-SRRO76ZX.js";import{d as g}from"./chunk-MYN2RQWK.js";var l=g(h(),1);var d=6e4,m=16*1024*1024,y=`
import sys
sys.path[:] = [p for p in sys.path if p not in ('', '.')]
import json
try:
    from pip._vendor.packaging.tags import sys_tags
except ImportError:
    try:
        from packaging.tags import sys_tags
    except ImportError:
        sys_tags = None
answer = {
    'executable': sys.executable,
    'version': '%d.%d.%d' % tuple(sys.version_info[:3]),
    'tags': None if sys_tags is None else [str(tag) for tag in sys_tags()],
}
print('')
print(json.dumps(answer))
`;async function I(t){let e=E(await x(t));if(e===void 0)throw a(`${o(t)} runs, but does not answer as Python does.`,"Name a Python interpreter, such as python3.12 or the path of one.");if(e.tags===void 0)throw a(`${o(e.executable)} (Python ${e.version}) has neither pip (20 or newer) nor packaging, so it cannot tell which wheels it takes.`,"Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.");return{...e,tags:e.tags}}function x(t){return new Promise((e,n)=>{let r=(i,p)=>n(w(t,i,p)),s={timeout:d,killSignal:"SIGKILL",maxBuffer:m};try{(0,l.execFile)(t,["-c",y],{...s,windowsHide:!0},(i,p,f)=>i===null?e(p):r(i,f)).stdin?.end()}catch(i){r(i,"")}})}function w(t,e,n){if(e.code==="ENOENT"||e.code==="ENOTDIR")return a(`There is no Python interpreter ${o(t)}.`,"Run actions/setup-python or uv before this step, or name an interpreter that is there.",e);let r=n.trim().split(`
`).at(-1)??"",s=e.killed?`did not answer within ${d/1e3} seconds`:`does not run (${c(r)||c(String(e.signal??e.code))})`;return a(`The Python interpreter ${o(t)} ${s}.`,/\.(bat|cmd)$/i.test(t)?"A batch file, such as a shim of pyenv, cannot be started: name the python.exe itself.":"Check that it starts by itself on this machine, or name another one.",e)}function E(t){try{let e=JSON.parse(t.trimEnd().split(`
`).at(-1));if(typeof e!="object"||e===null)return;let{executable:n,version:r,tags:s}=e;return typeof n!="string"||typeof r!="string"?void 0:{executable:n,version:r,tags:Array.isArray(s)?s.map(String):void 0}}catch{return}}function a(t,e,n){return new u({title:"Python interpreter not usable",reason:t,remedy:e},n===void 0?void 0:{cause:n})}export{I as askInterpreter};
