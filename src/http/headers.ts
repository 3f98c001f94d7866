/** A header as one text; where Node keeps repeated ones apart, they are joined as it joins others, with a comma. */
export const joinedHeader = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(", ") : value;
