import { readRemembered } from "./remembered.ts";

/**
 * The key that a passkey vouched for: made in this browser, kept in IndexedDB where no script can read it, and shared by all tabs. They
 * take turns: who makes one has it remembered before another tab looks whether the key that is kept is still anybody's.
 */

const LOCK = "keystead.own-key";

export type OwnKey = InstanceType<typeof import("../api/published-client.ts")["IndexedDbStamper"]>;

const newStamper = async (): Promise<OwnKey> => {
  const { IndexedDbStamper } = await import("../api/published-client.ts");
  return new IndexedDbStamper();
};

/** Makes a key, and has `use` remember it; nobody clears it meanwhile. */
export const withNewKey = <Value>(use: (key: OwnKey) => Promise<Value>): Promise<Value> =>
  navigator.locks.request(LOCK, async () => {
    const key = await newStamper();
    await key.resetKeyPair();
    return use(key);
  });

/** The key with that public half; undefined where another one is kept, or none. */
export async function keptKey(publicKey: string): Promise<OwnKey | undefined> {
  const key = await newStamper();
  await key.init();
  return key.getPublicKey() === publicKey ? key : undefined;
}

/** Clears the key that is kept, unless a login is remembered for it: another tab's, made since. */
export const clearUnclaimedKey = (): Promise<void> =>
  navigator.locks.request(LOCK, async () => {
    if (readRemembered() === undefined) await (await newStamper()).clear();
  });
