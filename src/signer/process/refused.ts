/** A request the signer will not carry out; the text is for the operator's log and holds no secret. */
export class SigningRefused extends Error {}
