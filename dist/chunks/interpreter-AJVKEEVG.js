import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);
import{a as u,b as o,c}from"./chunk-CW5VJL7Y.js";import"./chunk-6G7CKFX6.js";import{execFile as f}from"node:child_process";var l=6e4,g=16*1024*1024,h=`
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
`;async function S(t){let e=x(await m(t));if(e===void 0)throw a(`${o(t)} runs, but does not answer as Python does.`,"Name a Python interpreter, such as python3.12 or the path of one.");if(e.tags===void 0)throw a(`${o(e.executable)} (Python ${e.version}) has neither pip (20 or newer) nor packaging, so it cannot tell which wheels it takes.`,"Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.");return{...e,tags:e.tags}}function m(t){return new Promise((e,n)=>{let r=(i,p)=>n(y(t,i,p)),s={timeout:l,killSignal:"SIGKILL",maxBuffer:g};try{f(t,["-c",h],{...s,windowsHide:!0},(i,p,d)=>i===null?e(p):r(i,d)).stdin?.end()}catch(i){r(i,"")}})}function y(t,e,n){if(e.code==="ENOENT"||e.code==="ENOTDIR")return a(`There is no Python interpreter ${o(t)}.`,"Run actions/setup-python or uv before this step, or name an interpreter that is there.",e);let r=n.trim().split(`
`).at(-1)??"",s=e.killed?`did not answer within ${l/1e3} seconds`:`does not run (${c(r)||c(String(e.signal??e.code))})`;return a(`The Python interpreter ${o(t)} ${s}.`,/\.(bat|cmd)$/i.test(t)?"A batch file, such as a shim of pyenv, cannot be started: name the python.exe itself.":"Check that it starts by itself on this machine, or name another one.",e)}function x(t){try{let e=JSON.parse(t.trimEnd().split(`
`).at(-1));if(typeof e!="object"||e===null)return;let{executable:n,version:r,tags:s}=e;return typeof n!="string"||typeof r!="string"?void 0:{executable:n,version:r,tags:Array.isArray(s)?s.map(String):void 0}}catch{return}}function a(t,e,n){return new u({title:"Python interpreter not usable",reason:t,remedy:e},n===void 0?void 0:{cause:n})}export{S as askInterpreter};
