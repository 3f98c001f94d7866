import type { SignerProcess } from "../../src/signer/client.ts";
import type { KeyReference } from "../../src/signer/protocol.ts";
import { newOwner, occasionFor } from "./signer.ts";

/** The whole of what may wait of one organization, or so many long requests. */
export type Occupation = "full" | number;

/** Keeps work of an organization waiting for the signer, until the function is called that it resolves to. */
export async function occupySigner(
  signer: SignerProcess,
  organizationId: string,
  occupation: Occupation = "full",
): Promise<() => void> {
  const owner = await newOwner(signer, "occupant");
  const making = { verb: "generateKeys", ...owner, keys: [{ keyId: "key", curve: "CURVE_P256" }] } as const;
  const { keys } = await signer.ask({ ...making, keys: [...making.keys] }, { occasion: occasionFor(making as never) });
  const sealedKey = keys[0]?.sealedKey as string;
  const key: KeyReference = { kind: "privateKey", keyId: "key", curve: "CURVE_P256", sealedKey };
  const payloads = new Array(1000).fill(Buffer.alloc(32).toString("base64"));
  let isOn = true;
  const occasion = occasionFor({ verb: "sign", ...owner, key, hash: "none", payloads: [] });
  const asker = { organizationId, occasion, isWanted: () => isOn };

  /** @returns whether it may wait; in its place comes another as soon as it is done */
  const ask = (count: number): boolean => {
    const { shed } = signer.figures;
    signer.ask({ verb: "sign", ...owner, key, hash: "none", payloads: payloads.slice(0, count) }, asker).then(
      () => fill(),
      () => {},
    );
    return signer.figures.shed === shed;
  };
  const fill = (): void => {
    if (!isOn) return;
    const hasEnough = () => occupation !== "full" && signer.figures.waiting >= occupation;
    const sizes = occupation === "full" ? [1000, 100, 10, 1] : [1000];
    for (const size of sizes) while (!hasEnough() && ask(size));
  };
  fill();
  return () => {
    isOn = false;
  };
}
