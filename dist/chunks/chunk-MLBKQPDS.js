var e=class extends Error{name="WheelStoreError";title;reason;remedy;constructor(r,t){super(`${r.reason} ${r.remedy}`,t),this.title=r.title,this.reason=r.reason,this.remedy=r.remedy}};export{e as a};
