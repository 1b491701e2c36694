var t=class extends Error{name="WheelStoreError";title;reason;remedy;constructor(e,o){super(`${e.reason} ${e.remedy}`,o),this.title=e.title,this.reason=e.reason,this.remedy=e.remedy}};export{t as a};
