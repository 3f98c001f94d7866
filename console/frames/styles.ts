/** How the page around a frame may have its text look. */
const STYLES = [
  ...["padding", "margin", "borderWidth", "borderStyle", "borderColor", "borderRadius", "fontSize", "fontWeight"],
  ...["fontFamily", "color", "backgroundColor", "width", "height", "maxWidth", "maxHeight", "lineHeight", "boxShadow"],
  ...["textAlign", "overflowWrap", "wordWrap", "resize"],
] as const;
const SAFE_VALUE = /^[a-zA-Z0-9 .,#%()'"-]{1,200}$/;

/** @throws Error naming the style that is none; those before it hold */
export function applyStyles(styles: object, element: HTMLElement, label?: HTMLElement): void {
  for (const [name, value] of Object.entries(styles)) {
    if (typeof value !== "string" || !SAFE_VALUE.test(value)) throw new Error(`bad value for the style ${name}`);
    const style = STYLES.find((known) => known === name);
    if (style) element.style[style] = value;
    else if (name === "labelColor" && label) label.style.color = value;
    else throw new Error(`there is no style ${name} here`);
  }
}
