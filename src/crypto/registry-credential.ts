/** How a registry of images knows who reads: by a password, or by a token that it gave. */
export type RegistryCredential = { username: string; password: string } | { token: string };
