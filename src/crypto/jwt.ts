/** JSON Web Tokens (RFC 7519) in the compact form of RFC 7515, as far as the service issues them itself. */

const base64url = (text: string): string => Buffer.from(text).toString("base64url");

/**
 * What is signed: header and claims, base64url, with a dot between them. Published clients decode the claims with a decoder that
 * drops `-` and `_`, so that whatever could bring these about is escaped: the JSON is ASCII without `>`, `?` and `~`.
 */
export const signingInput = (header: object, claims: object): string =>
  `${base64url(JSON.stringify(header))}.${base64url(asciiJson(claims))}`;

/** A compact token of its input and the raw signature, r || s. */
export const compactToken = (input: string, signature: Uint8Array): string =>
  `${input}.${Buffer.from(signature).toString("base64url")}`;

const asciiJson = (value: object): string =>
  JSON.stringify(value).replace(
    /[>?~\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
