/** How a client authenticates to an image registry: by a password, or by a token that the registry issued. */
export type RegistryCredential = { username: string; password: string } | { token: string };
