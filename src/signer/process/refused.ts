/** A request that the signer refuses. The message is for the operator's log and contains no secret. */
export class SigningRefused extends Error {}
