import type { Json } from "./client.ts";

/** A result of `sign_raw_payload` as wallets write it: r, s, and 27 or 28. */
export const evmSignature = ({ r, s, v }: Json): `0x${string}` => `0x${r}${s}${(27 + Number(v)).toString(16)}`;
