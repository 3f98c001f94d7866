/** The keys by which this service vouches for bundles, the present one first; uncompressed points in hex. @throws Error */
export async function trustedKeys(): Promise<string[]> {
  const response = await fetch("/.well-known/keystead.json");
  if (!response.ok) throw new Error(`the service does not tell its keys: it answered ${response.status}`);
  const { serviceKeys } = (await response.json()) as { serviceKeys: { bundle: { publicKey: string }[] } };
  return serviceKeys.bundle.map(({ publicKey }) => publicKey);
}

/**
 * What comes of the first of the keys that a bundle is good under. The errors of `use` stop here: a library's may quote the secret that it
 * was given, and the page around the frame is told every error.
 *
 * @param refusal what to say instead where it is good under none
 * @throws Error with the refusal, or of a service that does not tell its keys
 */
export async function withTrustedKey<T>(use: (publicKey: string) => Promise<T>, refusal: string): Promise<T> {
  for (const publicKey of await trustedKeys()) {
    try {
      return await use(publicKey);
    } catch {
      // The next key may be the one.
    }
  }
  throw new Error(refusal);
}
