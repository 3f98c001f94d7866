/**
 * What the Content-Security-Policy of this page knows style sheets by that scripts make. A browser shows it to scripts as a property
 * alone. Libraries that lock scrolling look for it under a name of their own.
 */
export const styleNonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";

Object.assign(globalThis, { __webpack_nonce__: styleNonce });
