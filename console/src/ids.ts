const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether it has the form of what the server calls things by. */
export const isId = (text: string): boolean => UUID.test(text);

const TIME_DIGITS = 12;
const TIME_HIGH = 8;

/** What sorts before every identifier that is made from that millisecond on, as these begin with their time (UUIDv7, RFC 9562). */
export function idFrom(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(TIME_DIGITS, "0");
  return `${time.slice(0, TIME_HIGH)}-${time.slice(TIME_HIGH)}-0000-0000-000000000000`;
}
