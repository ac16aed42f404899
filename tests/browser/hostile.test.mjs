/* Names from programs: nothing runs, nothing breaks, what is there is shown. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, drawn, focused, open, rows, screenshot, text, useBrowser, walk } from './helpers.mjs';

useBrowser();

const isUnhurt = async (page) => assert.equal(await page.evaluate(() => window.hurt), undefined);

test('no name becomes markup or script, in any view', async (t) => {
    const page = await open(t, 'hostile');
    assert.equal(await text(page, '#title'), '<b>bold</b> & </title><script>window.hurt=1</script>');
    for (const key of ['1', '2', '4']) {
        await page.keyboard.press(key);
        await isUnhurt(page);
    }
    const names = (await rows(page)).map((row) => row[3]);
    assert.ok(names.includes('</script><script>window.hurt=1</script>'));
    assert.ok(names.includes("<img src=x onerror='window.hurt=1'>"));
    assert.ok(names.includes('__proto__') && names.includes('constructor'));
    for (const name of ['</script>', '<img', 'quote', '__proto__']) {
        await page.keyboard.press('4');
        await page.locator('.table-row').filter({ hasText: name }).first().click();
        for (const key of ['s', '5', 'f', 'u', '4', 'e', 'Escape'])
            await page.keyboard.press(key);
        await isUnhurt(page);
    }
    await page.click('#about-button');
    assert.match(await text(page, '#about-dialog'), /<script>window\.hurt=1<\/script>/);
    assert.equal(await page.locator('script').count(), 1, 'the page has its own script only');
    assert.equal(await page.locator('b:text-is("bold"), i:text-is("evil"), img').count(), 0);
    await isUnhurt(page);
});

test('marks that turn the writing direction are written out', async (t) => {
    const page = await open(t, 'hostile', '#v=functions');
    const names = (await rows(page)).map((row) => row[3]);
    assert.ok(names.includes('bidi⟨U+202E⟩esrever⟨U+202C⟩⟨U+2066⟩end⟨U+2069⟩'));
    assert.ok(names.includes('control⟨U+0001⟩⟨U+001B⟩[31m⟨U+000A⟩newline⟨U+0009⟩tab'));
    assert.ok(names.includes('emoji 👩⟨U+200D⟩🔬 日本語'));
    const page2 = await open(t, 'hostile');
    assert.ok(!(await drawn(page2)).some((name) => /[\u202a-\u202e\u2066-\u2069]/.test(name)));
});

test('a name of 7,000 characters fits everywhere', async (t) => {
    const page = await open(t, 'hostile');
    await page.fill('#query', 'xxxxxxxxxx');
    await page.keyboard.press('Enter');
    await walk(page, []);
    assert.match((await focused(page)).text, /^x{300}…; /);
    assert.equal((await text(page, '#details .name')).length, 7000);
    const panel = await page.locator('#details').boundingBox();
    assert.ok(panel.y + panel.height <= 761, 'the panel stays in the window');
    assert.ok((await page.locator('main').boundingBox()).height > 150);
    await page.mouse.move(100, 300);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await screenshot(page, 'hostile');
    assert.ok((await boxes(page, null)).length > 10);
});

test('the policy of the page lets nothing in or out', async (t) => {
    const page = await open(t, 'hostile');
    const policy = await page.getAttribute('meta[http-equiv]', 'content');
    assert.match(policy, /default-src 'none'; script-src 'sha256-/);
    const reached = await page.evaluate(() => new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', (event) =>
            resolve(event.effectiveDirective));
        const script = document.createElement('script');
        script.textContent = 'window.hurt = 1';
        document.body.append(script);
    }));
    assert.equal(reached, 'script-src-elem');
    await isUnhurt(page);
    page.problems.length = 0; /* the violation was reported, as it should be */
});
