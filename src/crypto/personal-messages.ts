/** A hash as wallets sign it where it is neither a transaction nor typed data: a message of 32 bytes (EIP-191), before it is hashed. */

const PREFIX = Buffer.from("\x19Ethereum Signed Message:\n32");

/** @param message 32 bytes */
export const messageOf32 = (message: Uint8Array): Buffer => Buffer.concat([PREFIX, message]);

export const isMessageOf32 = (bytes: Uint8Array): boolean =>
  bytes.length === PREFIX.length + 32 && PREFIX.equals(bytes.subarray(0, PREFIX.length));
