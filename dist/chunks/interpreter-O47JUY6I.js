import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);
import{a as p,b as i,c as a}from"./chunk-CW5VJL7Y.js";import"./chunk-6G7CKFX6.js";import{execFile as c}from"node:child_process";var u=6e4,g=16*1024*1024,l=`
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
`;async function E(t){let e=y(await f(t));if(e===void 0)throw o(`${i(t)} runs, but does not answer as Python does.`,"Name a Python interpreter, such as python3.12 or the path of one.");if(e.tags===void 0)throw o(`${i(e.executable)} (Python ${e.version}) has neither pip (20 or newer) nor packaging, so it cannot tell which wheels it takes.`,"Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.");return{...e,tags:e.tags}}function f(t){return new Promise((e,n)=>{c(t,["-c",l],{timeout:u,killSignal:"SIGKILL",maxBuffer:g,windowsHide:!0},(r,s,d)=>r===null?e(s):n(h(t,r,d))).stdin?.end()})}function h(t,e,n){if(e.code==="ENOENT")return o(`There is no Python interpreter ${i(t)}.`,"Run actions/setup-python or uv before this step, or name an interpreter that is there.",e);let r=n.trim().split(`
`).at(-1)??"",s=e.killed?`did not answer within ${u/1e3} seconds`:`does not run (${a(r)||a(String(e.signal??e.code))})`;return o(`The Python interpreter ${i(t)} ${s}.`,"Check that it starts by itself on this machine, or name another one.",e)}function y(t){try{let e=JSON.parse(t.trimEnd().split(`
`).at(-1));if(typeof e!="object"||e===null)return;let{executable:n,version:r,tags:s}=e;return typeof n!="string"||typeof r!="string"?void 0:{executable:n,version:r,tags:Array.isArray(s)?s.map(String):void 0}}catch{return}}function o(t,e,n){return new p({title:"Python interpreter not usable",reason:t,remedy:e},n===void 0?void 0:{cause:n})}export{E as askInterpreter};
