import{a as m}from"./node-child_process.js";import{a as u,k as a,m as f}from"./untrusted-foreign-text.js";import{d as g}from"./runtime.js";var l=g(m(),1);var d=6e4,y=16*1024*1024,E=`
import sys
sys.path[:] = [p for p in sys.path if p not in ('', '.')]
import json
def bundled():
    import glob, os
    folders = ['/usr/share/python-wheels']
    try:
        import ensurepip
        inside = os.path.join(os.path.dirname(ensurepip.__file__), '_bundled')
        folders[:0] = [f for f in (inside, getattr(ensurepip, '_WHEEL_PKG_DIR', None)) if f]
    except Exception:
        pass
    for wheel in [w for f in folders for w in sorted(glob.glob(os.path.join(f, 'pip-*.whl')))]:
        sys.path.insert(0, wheel)
        try:
            from pip._vendor.packaging.tags import sys_tags
            return sys_tags
        except Exception:
            sys.path.remove(wheel)
            for name in [n for n in sys.modules if n.split('.')[0] == 'pip']:
                del sys.modules[name]
    return None
try:
    from pip._vendor.packaging.tags import sys_tags
except ImportError:
    try:
        from packaging.tags import sys_tags
    except ImportError:
        sys_tags = bundled()
result = {
    'executable': sys.executable,
    'version': '%d.%d.%d' % tuple(sys.version_info[:3]),
    'tags': None if sys_tags is None else [str(tag) for tag in sys_tags()],
}
print('')
print(json.dumps(result))
`;async function I(t){let e=N(await x(t));if(e===void 0)throw p(`${a(t)} runs, but does not respond as Python does.`,"Name a Python interpreter, such as python3.12 or the path of one.");if(e.tags===void 0)throw p(`${a(e.executable)} (Python ${e.version}) has neither pip (20 or newer) nor packaging, nor the pip of ensurepip, so it cannot say which wheels it can install.`,"Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.");return{...e,tags:e.tags}}function x(t){return new Promise((e,r)=>{let s=(o,n)=>r(_(t,o,n)),i={timeout:d,killSignal:"SIGKILL",maxBuffer:y};try{(0,l.execFile)(t,["-c",E],{...i,windowsHide:!0},(o,n,h)=>o===null?e(n):s(o,h)).stdin?.end()}catch(o){s(o,"")}})}function _(t,e,r){if(e.code==="ENOENT"||e.code==="ENOTDIR")return p(`There is no Python interpreter ${a(t)}.`,"Run actions/setup-python or uv before this step, or name an interpreter that exists.",e);let s=v(r),i=e.killed?`did not respond within ${d/1e3} seconds`:`does not run (${f(s)||f(String(e.signal??e.code))})`;return p(`The Python interpreter ${a(t)} ${i}.`,b(t,s),e)}function b(t,e){return/\.(bat|cmd)$/i.test(t)?"A batch file, such as a shim of pyenv, cannot be started: name the python.exe itself.":c.test(e)?"This is the shim of a version manager: choose a version for it (such as PYENV_VERSION), or name the path of the interpreter itself.":e.includes("PYTHONHOME")?"Remove PYTHONHOME from the env of this step.":"Check that it starts by itself on this machine, or name another one."}var c=/^(?:pyenv: |asdf: |mise |No version is set for command |No preset version installed )/,w=64*1024;function v(t){let e=t.slice(-w).split(/[\r\n]+/).map(n=>n.trim()).filter(n=>n!==""),r=e.find(n=>c.test(n));if(r!==void 0)return r;let s=e.find(n=>n.startsWith("Fatal Python error: "));if(s===void 0)return e.at(-1)??"";let i=e.find(n=>/^\w*(?:Error|Exception): /.test(n));return[e.find(n=>/^PYTHONHOME = '/.test(n)),s,i].filter(n=>n!==void 0).join("; ")}function N(t){try{let e=JSON.parse(t.trimEnd().split(`
`).at(-1));if(typeof e!="object"||e===null)return;let{executable:r,version:s,tags:i}=e;return typeof r!="string"||typeof s!="string"?void 0:{executable:r,version:s,tags:Array.isArray(i)?i.map(String):void 0}}catch{return}}function p(t,e,r){return new u({title:"Python interpreter not usable",reason:t,remedy:e},r===void 0?void 0:{cause:r})}export{I as queryInterpreter,v as reasonIn};
