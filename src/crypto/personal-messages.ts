/** A message of 32 bytes before it is hashed (EIP-191): the form in which wallets sign a hash that is neither a transaction nor typed data. */

const PREFIX = Buffer.from("\x19Ethereum Signed Message:\n32");

/** @param message 32 bytes */
export const messageOf32 = (message: Uint8Array): Buffer => Buffer.concat([PREFIX, message]);

export const isMessageOf32 = (bytes: Uint8Array): boolean =>
  bytes.length === PREFIX.length + 32 && PREFIX.equals(bytes.subarray(0, PREFIX.length));
