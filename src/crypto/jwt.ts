/** JSON Web Tokens (RFC 7519) in the compact form of RFC 7515, for tokens that the service issues. */

const base64url = (text: string): string => Buffer.from(text).toString("base64url");

/**
 * The input for the signature: header and claims in base64url, separated by a dot. Published clients decode the claims with a decoder that
 * drops `-` and `_`. So all characters that could produce these are escaped: the JSON is ASCII without `>`, `?` and `~`.
 */
export const signingInput = (header: object, claims: object): string =>
  `${base64url(JSON.stringify(header))}.${base64url(asciiJson(claims))}`;

/** A compact token from its input and the raw signature, r || s. */
export const compactToken = (input: string, signature: Uint8Array): string =>
  `${input}.${Buffer.from(signature).toString("base64url")}`;

const asciiJson = (value: object): string =>
  JSON.stringify(value).replace(
    /[>?~\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
