import { useEffect, useState } from "react";
import { bytesOfBase64Url, hexOf } from "../bytes.ts";

/** A P-256 key pair that is made in this browser: compressed public key and private scalar, both in lowercase hex. */
export interface NewApiKey {
  publicKey: string;
  privateKey: string;
}

async function makeApiKey(): Promise<NewApiKey> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const { x = "", y = "", d = "" } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const isOdd = (bytesOfBase64Url(y).at(-1) ?? 0) % 2 === 1;
  return {
    publicKey: `${isOdd ? "03" : "02"}${hexOf(bytesOfBase64Url(x))}`,
    privateKey: hexOf(bytesOfBase64Url(d)),
  };
}

/** One pair for as long as the component is there; undefined for the moment that it takes. */
export function useNewApiKey(): NewApiKey | undefined {
  const [key, setKey] = useState<NewApiKey>();
  useEffect(() => {
    let isWanted = true;
    void makeApiKey().then((made) => isWanted && setKey(made));
    return () => {
      isWanted = false;
    };
  }, []);
  return key;
}
