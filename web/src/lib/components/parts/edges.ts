// Marks a scrollable element that has more beside what is seen, so that its edge fades.
export function edges(node: HTMLElement) {
  const look = () => node.toggleAttribute('data-more', node.scrollWidth - node.clientWidth - Math.abs(node.scrollLeft) > 2);
  const sizes = new ResizeObserver(look);
  sizes.observe(node);
  for (const child of node.children) sizes.observe(child);
  node.addEventListener('scroll', look, { passive: true });
  return () => {
    sizes.disconnect();
    node.removeEventListener('scroll', look);
  };
}
