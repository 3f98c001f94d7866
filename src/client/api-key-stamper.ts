import { makeStamp } from "../crypto/make-stamp.ts";
import type { Stamper } from "./client.ts";

/** Stamps with a P-256 API key: the compressed public key and the private scalar, both in hex. */
export const apiKeyStamper = (key: { publicKey: string; privateKey: string }): Stamper => ({
  stamp: async (body) => ({ header: "x-stamp", value: makeStamp(key, body) }),
});
