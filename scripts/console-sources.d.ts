export const BUILT_FROM: string;
export function digestOfSources(): string;
export function isBuilt(): boolean;
export function digestOf(places: readonly string[]): string;
export function isBuiltFrom(place: string, digest: () => string): boolean;
