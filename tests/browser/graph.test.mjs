/* The flame graph: what is drawn, pointing, zooming, walking, turning. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, clickFrame, drawn, focused, focusGraph, hash, hoverFrame, numbers, open, screenshot,
         settled, text, useBrowser, walk } from './helpers.mjs';

useBrowser();

test('the whole is drawn to scale, every thread merged', async (t) => {
    const page = await open(t, 'app');
    assert.equal(await text(page, '#summary'), '3,000 instructions');
    assert.equal(await page.title(), './app --fast input.txt · trueflame');
    const [main] = await boxes(page, 'main');
    const [worker] = await boxes(page, 'worker');
    const [inflate] = await boxes(page, 'inflate');
    const canvas = await page.locator('canvas').boundingBox();
    assert.ok(Math.abs(main.width - canvas.width * 2200 / 3000) < 1);
    assert.ok(Math.abs(worker.width - canvas.width * 800 / 3000) < 1);
    assert.ok(Math.abs(inflate.width - canvas.width * 800 / 3000) < 1);
    assert.equal(main.top, 20);
    assert.equal(inflate.top, 40);
    assert.ok(worker.left >= main.left + main.width - 0.01, 'the heavier sibling stands first');
    await screenshot(page, 'flame-light');
});

test('pointing at a frame tells its exact numbers and shares', async (t) => {
    const page = await open(t, 'app');
    await hoverFrame(page, 'parse(std::vector<int> const&)');
    assert.match(await text(page, '#tooltip'), /^parse\(std::vector<int> const&\)Your code/);
    assert.deepEqual(await numbers(page, '#tooltip'), {
        Total: '750 | 25.00 % of all | 34.09 % of the caller', Self: '400 | 13.33 % of all',
        Calls: '4',
    });
    await page.mouse.move(600, 740);
    assert.equal(await page.locator('#tooltip').isVisible(), false);
});

test('a click zooms to the frame and selects it; clicking its caller zooms out', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate');
    const canvas = await page.locator('canvas').boundingBox();
    assert.equal((await boxes(page, 'inflate'))[0].width, canvas.width);
    assert.equal((await boxes(page, 'main'))[0].width, canvas.width);
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'inflate', 'memcpy']);
    assert.equal(await text(page, '#details .name'), 'inflate');
    assert.deepEqual(await numbers(page), {
        Total: '800 | 26.67 % of all | 36.36 % of the caller', Self: '750 | 25.00 % of all',
        Calls: '15',
    });
    assert.match(await text(page, '#details .place'), /libz\.so\.1.*install zlib1g-dbgsym/);
    await clickFrame(page, 'main');
    assert.ok((await drawn(page)).includes('fib'));
    assert.ok(!(await drawn(page)).includes('worker'));
});

test('back and forward undo and redo a zoom', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'main');
    await clickFrame(page, 'inflate');
    await page.goBack();
    assert.ok((await drawn(page)).includes('fib'));
    await page.goBack();
    assert.ok((await drawn(page)).includes('worker'));
    await page.goForward();
    await page.goForward();
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'inflate', 'memcpy']);
});

test('zooming makes room for callees; back puts the rows where they were', async (t) => {
    const page = await open(t, 'deep', '', { viewport: { width: 1000, height: 500 } });
    const [, , lowest] = (await boxes(page, 'down')).reverse();
    const canvas = await page.locator('canvas').boundingBox();
    await page.mouse.click(canvas.x + 100, canvas.y + lowest.top + 10);
    await settled(page);
    const zoomed = (await boxes(page, null)).find((box) => box.node === lowest.node);
    assert.ok(zoomed.top < lowest.top, `${zoomed.top} < ${lowest.top}`);
    assert.match(hash(page), /y=\d/);
    await page.goBack();
    await settled(page);
    assert.equal((await boxes(page, '(root)'))[0].top, 0);
    await page.goForward();
    await settled(page);
    assert.equal((await boxes(page, null)).find((box) => box.node === lowest.node).top, zoomed.top);
});

test('arrow keys walk children, parents and siblings in the ARIA tree', async (t) => {
    const page = await open(t, 'app');
    await focusGraph(page);
    await page.keyboard.press('ArrowDown');
    let item = await focused(page);
    assert.equal(item.role, 'treeitem');
    assert.match(item.text, /^main; Total 2,200, 73\.33 % of all; Self 100, /);
    assert.deepEqual([item.level, item.position, item.size, item.selected],
                     ['2', '1', '2', 'true']);
    await page.keyboard.press('ArrowRight');
    assert.match((await focused(page)).text, /^worker; Total 800/);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowDown');
    item = await focused(page);
    assert.match(item.text, /^inflate; /);
    assert.equal(item.level, '3');
    await page.keyboard.press('End');
    assert.match((await focused(page)).text, /^helper; /);
    await page.keyboard.press('Home');
    assert.match((await focused(page)).text, /^inflate; /);
    await page.keyboard.press('ArrowUp');
    assert.match((await focused(page)).text, /^main; /);
    const items = await page.getByRole('treeitem').allTextContents();
    assert.match(items[0], /^\.\/app --fast/, 'the parent is in the tree');
    assert.equal(items.length, 1 + 2 + 5, 'parent, both siblings, five children');
});

test('inlined frames say so, and are drawn otherwise', async (t) => {
    const page = await open(t, 'app');
    const [step] = (await boxes(page, 'step')).filter((box) => box.inlined);
    assert.ok(step);
    await hoverFrame(page, 'step');
    assert.match(await text(page, '#tooltip .place'), /inlined/);
    /* Pixels: an inlined frame is paler than a called one of the same origin. */
    const colours = await page.evaluate(() => {
        const canvas = document.querySelector('canvas');
        const context = canvas.getContext('2d');
        const at = (box) => [...context.getImageData((box.left + box.width - 4) * devicePixelRatio,
            (box.top + 15) * devicePixelRatio, 1, 1).data].slice(0, 3).reduce((a, b) => a + b);
        const all = window.trueflame.boxes()[0];
        return [at(all.find((box) => box.inlined)), at(all.find((box) => box.name === 'main'))];
    });
    assert.ok(colours[0] > colours[1] + 60, `${colours}`);
});

test('keys zoom in and out as clicks do', async (t) => {
    const page = await open(t, 'app');
    await walk(page, ['ArrowDown', 'ArrowDown', 'Enter']);
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'inflate', 'memcpy']);
    assert.match((await focused(page)).text, /^inflate/, 'the focus stays on the frame');
    await page.keyboard.press('Backspace');
    assert.ok((await drawn(page)).includes('fib'));
    await page.keyboard.press('z');
    assert.equal((await drawn(page)).length, 4);
    await page.keyboard.press('0');
    assert.ok((await drawn(page)).includes('worker'));
});

test('walking to a frame outside the zoom zooms out to it', async (t) => {
    const page = await open(t, 'app');
    await walk(page, ['ArrowDown', 'ArrowDown', 'Enter', 'ArrowRight']);
    assert.match((await focused(page)).text, /^parse/);
    assert.ok((await drawn(page)).includes('parse(std::vector<int> const&)'));
});

test('the root can be at the bottom, by button and by key', async (t) => {
    const page = await open(t, 'app');
    await page.click('#upward');
    assert.equal(await text(page, '#upward'), 'Flame');
    let [main] = await boxes(page, 'main');
    let [inflate] = await boxes(page, 'inflate');
    assert.ok(inflate.top < main.top);
    const canvas = await page.locator('canvas').boundingBox();
    assert.equal((await boxes(page, '(root)'))[0].top, canvas.height - 20);
    await walk(page, ['ArrowUp', 'ArrowUp']);
    assert.match((await focused(page)).text, /^inflate/, 'up is away from the root now');
    await page.keyboard.press('ArrowDown');
    assert.match((await focused(page)).text, /^main/);
    await screenshot(page, 'flame-upward');
    await page.keyboard.press('i');
    [main] = await boxes(page, 'main');
    [inflate] = await boxes(page, 'inflate');
    assert.ok(inflate.top > main.top);
    assert.equal(hash(page).includes('up='), false);
});

test('frames under a pixel are drawn together and counted', async (t) => {
    const page = await open(t, 'crowd');
    const merged = await page.evaluate(() => window.trueflame.boxes()[0].filter((b) => b.merged));
    assert.equal(merged.length, 1);
    assert.equal(merged[0].count, 5000);
    const canvas = await page.locator('canvas').boundingBox();
    await page.mouse.move(canvas.x + merged[0].left + merged[0].width / 2,
                          canvas.y + merged[0].top + 10);
    assert.match(await text(page, '#tooltip'), /^5,000 frames narrower than a pixel/);
    assert.equal((await numbers(page, '#tooltip')).Together, '5,000 | 1.64 % of all');
});

test('colours are by origin, object or function, by mouse and by key, with a legend', async (t) => {
    const page = await open(t, 'app');
    assert.match(await text(page, '#legend'),
                 /Your code 60\.33 %.*Libraries 25\.00 %.*System 6\.67 %.*Python 3\.67 %.*JIT 4\.33 %.*Markers 0 %.*inlined/);
    const colourAt = (name) => page.evaluate((wanted) => {
        const box = window.trueflame.boxes()[0].find((candidate) => candidate.name === wanted);
        const context = document.querySelector('canvas').getContext('2d');
        return [...context.getImageData((box.left + box.width - 3) * devicePixelRatio,
                                        (box.top + 15) * devicePixelRatio, 1, 1).data].join();
    }, name);
    const byOrigin = await colourAt('inflate');
    await page.selectOption('#colour', 'object');
    const byObject = await colourAt('inflate');
    assert.equal(await colourAt('main'), await colourAt('worker'), 'same object, same colour');
    assert.match(await text(page, '#legend'), /the object/);
    await focusGraph(page);
    await page.keyboard.press('c');
    assert.equal(await page.inputValue('#colour'), 'name');
    const byName = await colourAt('inflate');
    assert.equal(new Set([byOrigin, byObject, byName]).size, 3);
    await page.keyboard.press('c');
    assert.equal(await colourAt('inflate'), byOrigin);
});
